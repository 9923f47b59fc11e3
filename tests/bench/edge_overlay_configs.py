"""The configurations `tests.bench.edge_overlay` runs its processes with."""

from __future__ import annotations

NGINX = """
daemon off; master_process off; pid {folder}/{name}.pid; error_log {folder}/{name}.log;
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 100000000; client_body_buffer_size 2m;
  client_body_temp_path {folder}; proxy_temp_path {folder};
  fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
  {rest}
}}
"""
PROXY = """
  upstream b {{ server 127.0.0.1:{backend}; keepalive 1024; keepalive_requests 100000000; }}
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
  server {{ listen 127.0.0.1:{port} backlog=4096; location / {{ proxy_pass http://b; }} }}
"""
STATIC = """
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{ default_type application/json; return 200 '{{"text":"{text}"}}'; }}
  }}
"""
CHAIN = """
listeners:
  - {{name: main, address: "127.0.0.1:{port}", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - filter: request_id
      - filter: access_log
      - filter: api_key_auth
        keys: [{{sha256: {digest}, tenant: acme}}]
      - {{filter: rate_limit, mode: per_tenant, rate: 1000000, burst: 1000000}}
      - {{filter: concurrency_limit, max_requests: 10000, max_per_tenant: 10000}}
      - {{filter: body_limit, max_bytes: 20000000}}
      - {{filter: json_body_field, field: model, header: X-Model}}
      - filter: model_authorization
        tenants: {{acme: ["*"]}}
      {route}
      - filter: circuit_breaker
        clusters: [{{name: backend, consecutive_failures: 5, recovery_window_secs: 1}}]
      - filter: load_balancer
clusters:
  - {{name: backend, endpoints: ["127.0.0.1:{backend}"]}}
"""
ROUTER = "- {filter: router, routes: [{path_prefix: /, cluster: backend}]}"
GRID_ROUTE = (
    "- {{filter: grid_route, overlay_file: {folder}/grid/grid-config.json,"
    " affinity: {{secret_file: {folder}/affinity}}}}"
)
FAILOVER = """
listeners:
  - {{name: main, address: "127.0.0.1:{port}", filter_chains: [main]}}
filter_chains:
  - name: main
    filters:
      - {{filter: json_body_field, field: model, header: X-Model}}
      - {{filter: grid_route, overlay_file: {folder}/grid/grid-config.json}}
      - {{filter: load_balancer}}
clusters:
  - {{name: gateway-a, endpoints: ["127.0.0.1:{a}"]}}
  - {{name: gateway-b, endpoints: ["127.0.0.1:{b}"]}}
"""
WRK = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer {key}"
wrk.body = '{{"model":"m1","messages":[{{"role":"user","content":"'
wrk.body = wrk.body .. string.rep("x", 900) .. '"}}]}}'
{delay}
local n = 0
request = function()
  n = (n + 1) % 500
  wrk.headers["X-Praxis-Session-ID"] = "conversation-" .. n
  return wrk.format()
end
done = function(s, l, r)
  local failed = s.errors.connect + s.errors.read + s.errors.write + s.errors.timeout + s.errors.status
  local p = function(n) return l:percentile(n) / 1000 end
  io.write(string.format("RESULT %d %d %f %f %f %f\\n", s.requests, failed, p(50), p(99), p(99.9), l.max / 1000))
end
"""
