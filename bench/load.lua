-- The load: one request, again and again, and a look at every reply.
--
-- wrk -s load.lua URL -- BODY_FILE EXPECTED: sends the body and counts replies whose status is not 200 or whose body
-- does not contain the expected text. Prints one line of JSON when done.

local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(arguments)
  local file = assert(io.open(arguments[1], "rb"))
  wrk.body = file:read("*a")
  file:close()
  expected = arguments[2]
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Accept"] = "application/json, text/event-stream"
  wrk.headers["MCP-Protocol-Version"] = "2026-07-28"
  wrk.headers["Mcp-Method"] = "tools/call"
  wrk.headers["Mcp-Name"] = "deploy_release"
  right, wrong = 0, 0
  -- Built once: the same bytes for every request.
  local bytes = wrk.format()
  request = function() return bytes end
end

function response(status, _, body)
  if status == 200 and body:find(expected, 1, true) then
    right = right + 1
  else
    wrong = wrong + 1
    if wrong == 1 then io.stderr:write("a wrong reply: ", status, " ", body, "\n") end
  end
end

function done(summary, latency)
  local right, wrong = 0, 0
  for _, thread in ipairs(threads) do
    right = right + thread:get("right")
    wrong = wrong + thread:get("wrong")
  end
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout
  print(string.format(
    '{"right": %d, "wrong": %d, "failed": %d, "seconds": %f, "p50_us": %d, "p99_us": %d}',
    right, wrong, failed, summary.duration / 1e6, latency:percentile(50), latency:percentile(99)
  ))
end
