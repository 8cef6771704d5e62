-- KEYS: a key for each bucket.
-- ARGV: what to do (take, peek or back), the time in ms or '' for the clock of Redis, then
-- limit and length in ms of each bucket.
-- Returns 1 where all buckets have room for a request and else 0, the time, and of each
-- bucket the start, count and previous count it had before this call.
local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local kept = redis.call('MGET', unpack(KEYS))
local answer = {1, now}
for i = 1, #KEYS do
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
  if (limit - count) * length - previous * (start + length - now - 1) <= 0 then
    answer[1] = 0
  end
end

local function keep(i, count, previous)
  if count == 0 and previous == 0 then
    return redis.call('DEL', KEYS[i])
  end
  local start = answer[3 * i]
  redis.call('SET', KEYS[i], struct.pack('<ddd', start, count, previous), 'PX', start + 2 * ARGV[2 * i + 2] - now)
end

if ARGV[1] == 'take' and answer[1] > 0 then
  for i = 1, #KEYS do
    keep(i, answer[3 * i + 1] + 1, answer[3 * i + 2])
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
