-- Stores what one worker knows of servers, and returns what others do: a window of
-- those that are there, beginning anywhere, so that in a large fleet each call sees
-- others. Workers whose time is over are forgotten, a hundred at a time.
-- KEYS   alive (worker by the end of its time), shares (of each worker)
-- ARGV   worker; its shares; for how long, µs; how many others at most; how many
--        bytes of them at most; where the window begins, in [0, 1)
-- Reply  how many others there are, as text, then worker, age in µs and shares of each
-- Twice  it stores the same again
local call = redis.call
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local worker, most, bytes = ARGV[1], tonumber(ARGV[4]), tonumber(ARGV[5])

local gone = call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0, 100)
if #gone > 0 then
  call('ZREM', KEYS[1], unpack(gone))
  call('HDEL', KEYS[2], unpack(gone))
end

call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), worker)
call('HSET', KEYS[2], worker, string.format('%.0f', now) .. ' ' .. ARGV[2])
local life = math.ceil(ARGV[3] / 1000)
for _, key in ipairs({ KEYS[1], KEYS[2] }) do
  if call('PTTL', key) < life then call('PEXPIRE', key, life) end
end

local first = '(' .. string.format('%.0f', now) -- who is left over from before counts no more
local others = call('ZCOUNT', KEYS[1], first, '+inf') - 1
local reply = { string.format('%.0f', others) }
local from = math.floor(ARGV[6] * (others + 1))
local window = call('ZRANGEBYSCORE', KEYS[1], first, '+inf', 'LIMIT', from, most + 1)
if #window <= most and from > 0 then
  local rest = call('ZRANGEBYSCORE', KEYS[1], first, '+inf', 'LIMIT', 0, math.min(from, most + 1 - #window))
  for i = 1, #rest do window[#window + 1] = rest[i] end
end
local taken = 0
for i = 1, #window do
  local held = window[i] ~= worker and taken < most and call('HGET', KEYS[2], window[i])
  if held and #held <= bytes then
    local at = string.find(held, ' ', 1, true)
    reply[#reply + 1] = window[i]
    reply[#reply + 1] = string.format('%.0f', math.max(0, now - string.sub(held, 1, at - 1)))
    reply[#reply + 1] = string.sub(held, at + 1)
    taken, bytes = taken + 1, bytes - #held
  end
end
return reply
