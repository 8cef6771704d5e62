-- KEYS: a key for each bucket; to add, the one bucket and the debt.
-- ARGV: what to do (take, peek, back or add), the time in ms or '' for the clock of
-- Redis, limit and length in ms of each bucket, then how many requests to take, or
-- how many the debt has by now: what it had when it was added before is not added again.
-- Returns for how many of them all buckets have room, the time, and of each bucket
-- the start, count and previous count it had before this call.
local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local adds, buckets = ARGV[1] == 'add', #KEYS
if adds then
  buckets = 1
end
local kept = redis.call('MGET', unpack(KEYS))
local asked = tonumber(ARGV[2 * buckets + 3])
if adds then
  local added = tonumber(kept[2] or 0)
  redis.call('SET', KEYS[2], math.max(asked, added), 'PX', math.min(2 * ARGV[4], 10000))
  asked = math.max(0, asked - added)
end
local answer = {asked, now}
for i = 1, buckets do
  local limit, length = tonumber(ARGV[2 * i + 1]), tonumber(ARGV[2 * i + 2])
  local start, count, previous = now, 0, 0
  if kept[i] then
    start, count, previous = struct.unpack('<ddd', kept[i])
    if now < start then
      start = now
    elseif now >= start + 2 * length then
      count, previous = 0, 0
    elseif now >= start + length then
      start, count, previous = start + length, 0, count
    end
    if count == 0 and previous == 0 then
      start = now -- an empty window begins with its first request
    end
  end
  answer[3 * i], answer[3 * i + 1], answer[3 * i + 2] = start, count, previous
  local remaining = (limit - count) * length - previous * (start + length - now - 1)
  answer[1] = math.min(answer[1], math.max(0, math.ceil(remaining / length)))
end

local function keep(i, count, previous)
  if count == 0 and previous == 0 then
    return redis.call('DEL', KEYS[i])
  end
  local start = answer[3 * i]
  redis.call('SET', KEYS[i], struct.pack('<ddd', start, count, previous), 'PX', start + 2 * ARGV[2 * i + 2] - now)
end

if (adds or ARGV[1] == 'take') and answer[1] > 0 then
  for i = 1, buckets do
    keep(i, answer[3 * i + 1] + answer[1], answer[3 * i + 2])
  end
elseif ARGV[1] == 'back' then
  for i = 1, #KEYS do
    local count, previous = answer[3 * i + 1], answer[3 * i + 2]
    if count > 0 then
      keep(i, count - 1, previous)
    elseif previous > 0 then
      keep(i, count, previous - 1)
    end
  end
end
return answer
