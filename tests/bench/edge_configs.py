"""The configurations `tests.bench.edge` runs its processes with: backends, our whole chain, peers, and wrk."""

from __future__ import annotations

NGINX = """
daemon off; worker_processes 1; pid {folder}/{name}.pid; error_log {folder}/{name}.log;
events {{ worker_connections 16384; }}
http {{
  access_log off; keepalive_requests 100000000; client_max_body_size 20m; client_body_buffer_size 2m;
  client_body_temp_path {folder}; proxy_temp_path {folder};
  fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
  {rest}
}}
"""
PROXY = """
  upstream b {{ server 127.0.0.1:{backend}; keepalive 1024; keepalive_requests 100000000; }}
  upstream s {{ server 127.0.0.1:{sse}; keepalive 1024; keepalive_requests 100000000; }}
  upstream t {{ server 127.0.0.1:{tls_backend}; keepalive 1024; keepalive_requests 100000000; }}
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location /sse {{ proxy_pass http://s; }}
    location / {{ proxy_pass http://b; }}
  }}
  server {{
    listen 127.0.0.1:{tls_port} ssl backlog=4096; ssl_protocols TLSv1.3;
    ssl_certificate {certs}/localhost.crt; ssl_certificate_key {certs}/localhost.key;
    location / {{
      proxy_pass https://t; proxy_ssl_protocols TLSv1.3; proxy_ssl_verify on; proxy_ssl_name localhost;
      proxy_ssl_server_name on; proxy_ssl_trusted_certificate {certs}/test-ca.crt;
      proxy_ssl_certificate {certs}/client.crt; proxy_ssl_certificate_key {certs}/client.key;
    }}
  }}
"""
_ANSWER = (
    '{{"id":"c","object":"chat.completion","created":1,"model":"m1","choices":[{{"index":0,'
    '"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],'
    '"usage":{{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}}}'
)
STATIC = f"""
  server {{{{
    listen 127.0.0.1:{{port}} backlog=4096;
    location / {{{{ default_type application/json; return 200 '{_ANSWER}'; }}}}
  }}}}
  server {{{{
    listen 127.0.0.1:{{tls_port}} ssl backlog=4096; ssl_protocols TLSv1.3;
    ssl_certificate {{certs}}/localhost.crt; ssl_certificate_key {{certs}}/localhost.key;
    ssl_client_certificate {{certs}}/test-ca.crt; ssl_verify_client on;
    location / {{{{ default_type application/json; return 200 '{_ANSWER}'; }}}}
  }}}}
"""
HAPROXY = """
global
  nbthread 1
  maxconn 8000
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
  option http-no-delay
  http-reuse always
frontend f
  bind 127.0.0.1:{port} backlog 4096
  bind 127.0.0.1:{tls_port} backlog 4096 ssl crt {certs}/localhost.pem ssl-min-ver TLSv1.3
  http-request wait-for-body time 5s
  http-request set-var(txn.model) req.body,json_query('$.model')
  use_backend s if {{ var(txn.model) -m str m1 }} {{ path_beg /sse }}
  use_backend t if {{ var(txn.model) -m str m1 }} {{ path_beg /tls }}
  use_backend b if {{ var(txn.model) -m str m1 }}
backend b
  server a 127.0.0.1:{backend}
backend s
  server a 127.0.0.1:{sse}
backend t
  server a 127.0.0.1:{tls_backend} {tls}
"""
HAPROXY_TLS = (
    "ssl verify required ca-file {certs}/test-ca.crt crt {certs}/client.pem sni str(localhost) "
    "verifyhost localhost ssl-min-ver TLSv1.3"
)
ENVOY = """
static_resources:
  listeners:
  - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    per_connection_buffer_limit_bytes: 4194304
    filter_chains:
    - filters: &filters
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: bench
          http_filters:
          - name: envoy.filters.http.json_to_metadata
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.json_to_metadata.v3.JsonToMetadata
              request_rules:
                rules:
                - selectors: [{{key: model}}]
                  on_present: {{metadata_namespace: m, key: model}}
          - name: envoy.filters.http.router
            typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match:
                  prefix: /sse
                  dynamic_metadata: &model
                  - {{filter: m, path: [{{key: model}}], value: {{string_match: {{exact: m1}}}}}}
                route: {{cluster: sse, timeout: 0s}}
              - match: {{prefix: /tls, dynamic_metadata: *model}}
                route: {{cluster: secure, timeout: 0s}}
              - match: {{prefix: /, dynamic_metadata: *model}}
                route: {{cluster: backend, timeout: 0s}}
  - address: {{socket_address: {{address: 127.0.0.1, port_value: {tls_port}}}}}
    per_connection_buffer_limit_bytes: 4194304
    filter_chains:
    - filters: *filters
      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
          common_tls_context:
            tls_params: &tls13 {{tls_minimum_protocol_version: TLSv1_3, tls_maximum_protocol_version: TLSv1_3}}
            tls_certificates:
            - certificate_chain: {{filename: {certs}/localhost.crt}}
              private_key: {{filename: {certs}/localhost.key}}
  clusters:
  - name: backend
    circuit_breakers: &most {{thresholds: [{{max_connections: 12000, max_requests: 12000}}]}}
    load_assignment:
      cluster_name: backend
      endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {backend}}}}}}}}}]}}]
  - name: sse
    circuit_breakers: *most
    load_assignment:
      cluster_name: sse
      endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {sse}}}}}}}}}]}}]
  - name: secure
    circuit_breakers: *most
    load_assignment:
      cluster_name: secure
      endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {tls_backend}}}}}}}}}]}}]
    transport_socket:
      name: envoy.transport_sockets.tls
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
        sni: localhost
        common_tls_context:
          tls_params: *tls13
          tls_certificates:
          - certificate_chain: {{filename: {certs}/client.crt}}
            private_key: {{filename: {certs}/client.key}}
          validation_context:
            trusted_ca: {{filename: {certs}/test-ca.crt}}
            match_typed_subject_alt_names: [{{san_type: DNS, matcher: {{exact: localhost}}}}]
"""
LITELLM = """
model_list:
  - model_name: m1
    litellm_params: {{model: openai/m1, api_base: "http://127.0.0.1:{backend}/v1", api_key: none}}
general_settings: {{master_key: {key}}}
litellm_settings: {{num_retries: 0, telemetry: false}}
"""
CHAIN = """
listeners:
  - {{name: main, address: "127.0.0.1:{port}", filter_chains: [main]}}
  - name: secure
    address: "127.0.0.1:{tls_port}"
    filter_chains: [main]
    tls:
      certificates: [{{cert_path: {certs}/localhost.crt, key_path: {certs}/localhost.key}}]
filter_chains:
  - name: main
    filters:
      - filter: request_id
      - filter: access_log
      - filter: api_key_auth
        keys: [{{sha256: {digest}, tenant: acme}}]
      - {{filter: rate_limit, mode: per_tenant, rate: 1000000, burst: 1000000}}
      - {{filter: concurrency_limit, max_requests: 12000, max_per_tenant: 12000}}
      - {{filter: body_limit, max_bytes: 20000000}}
      - {{filter: json_body_field, field: model, header: X-Model}}
      - filter: model_authorization
        tenants: {{acme: ["*"]}}
      - filter: router
        routes:
          - {{path_prefix: /sse, cluster: sse}}
          - {{path_prefix: /tls, cluster: secure}}
          - {{path_prefix: /, cluster: backend}}
      - filter: circuit_breaker
        clusters: [{{name: backend, consecutive_failures: 5, recovery_window_secs: 1}}]
      - filter: load_balancer
clusters:
  - {{name: backend, endpoints: ["127.0.0.1:{backend}"]}}
  - {{name: sse, endpoints: ["127.0.0.1:{sse}"]}}
  - name: secure
    endpoints: ["127.0.0.1:{tls_backend}"]
    tls:
      sni: localhost
      ca: {{ca_path: {certs}/test-ca.crt}}
      client_cert: {{cert_path: {certs}/client.crt, key_path: {certs}/client.key}}
body_limits: {{max_request_bytes: 20000000}}
insecure_options: {{allow_root: true}}
"""
WRK = """
-- Lengths differ from request to request, as they do in earnest.
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer {key}"
wrk.headers["User-Agent"] = "OpenAI/Python 1.55.0"
local made, last = {{}}, 0
init = function()
  for i = 1, 16 do
    local text = string.rep("x", {size} - 64 + 8 * i)
    local body = '{{"model":"m1","messages":[{{"role":"user","content":"' .. text .. '"}}]}}'
    made[i] = wrk.format(nil, nil, nil, body)
  end
end
request = function() last = last % 16 + 1; return made[last] end
{delay}
done = function(s, l, r)
  local failed = s.errors.connect + s.errors.read + s.errors.write + s.errors.timeout + s.errors.status
  io.write(string.format("RESULT %d %d\\n", s.requests, failed))
end
"""
