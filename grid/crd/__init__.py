"""GridNetwork, GridSite and InferenceProvider as typed values, and the CRDs generated from them."""
