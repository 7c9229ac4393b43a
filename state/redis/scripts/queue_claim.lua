-- Hands out threads, each for a turn: first those that somebody began
-- and whose turn is over, then those due longest. The end of a turn is one it did
-- not have before. An entry is among the begun before it leaves due: none is ever
-- in neither.
-- KEYS   due, bell, begun, reply
-- ARGV   how many at most; the turn, µs; µs for which the reply is kept
-- Reply  µs until an entry is due (0: some are, -1: there is none), then
--        thread and end of its turn, Unix µs, of each
-- Twice  the reply is kept under a key of its own when threads are handed out,
--        and given again: nothing is claimed that nobody hears of.
local call = redis.call
local earlier = call('LRANGE', KEYS[4], 0, -1)
if #earlier > 0 then return earlier end
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local most, turn = tonumber(ARGV[1]), tonumber(ARGV[2])
local reply = { '-1' }

local function give(entries)
  for i = 1, #entries, 2 do
    local till = now + turn
    if tonumber(entries[i + 1]) == till then till = till + 1 end
    till = string.format('%.0f', till)
    call('ZADD', KEYS[3], till, entries[i])
    reply[#reply + 1] = entries[i]
    reply[#reply + 1] = till
  end
  return #entries / 2
end

local function ready(key, n)
  if n <= 0 then return {} end
  return call('ZRANGEBYSCORE', key, '-inf', string.format('%.0f', now), 'WITHSCORES', 'LIMIT', 0, n)
end

local given = give(ready(KEYS[3], most))
local fresh = ready(KEYS[1], most - given)
give(fresh)
for i = 1, #fresh, 2 do call('ZREM', KEYS[1], fresh[i]) end
for _, key in ipairs({ KEYS[1], KEYS[3] }) do
  local first = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  if first then
    local wait = math.max(0, first - now)
    if reply[1] == '-1' or wait < tonumber(reply[1]) then reply[1] = string.format('%.0f', wait) end
  end
end
if reply[1] ~= '0' then call('DEL', KEYS[2]) end -- nothing to wake anybody for
if #reply > 1 then
  for i = 1, #reply, 1000 do -- Lua's stack is bounded
    call('RPUSH', KEYS[4], unpack(reply, i, math.min(#reply, i + 999)))
  end
  call('PEXPIRE', KEYS[4], string.format('%.0f', ARGV[3] / 1000))
end
return reply
