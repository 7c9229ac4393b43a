-- Hands out threads that are due, those due longest first, each for a turn: its
-- entry becomes due when the turn is over, at a time it did not have before.
-- KEYS   due, bell, reply
-- ARGV   how many at most; the turn, µs; µs for which the reply is kept
-- Reply  µs until an entry is due (0: some are, -1: there is none), then
--        thread and end of its turn, Unix µs, of each
-- Twice  the reply is kept under a key of its own when threads are handed out,
--        and given again: nothing is claimed that nobody hears of.
local call = redis.call
local earlier = call('LRANGE', KEYS[3], 0, -1)
if #earlier > 0 then return earlier end
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local most, turn = tonumber(ARGV[1]), tonumber(ARGV[2])
local reply = { '-1' }
if most > 0 then
  local due = call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #due, 2 do
    local till = now + turn
    if tonumber(due[i + 1]) == till then till = till + 1 end
    till = string.format('%.0f', till)
    call('ZADD', KEYS[1], till, due[i])
    reply[#reply + 1] = due[i]
    reply[#reply + 1] = till
  end
end
local first = call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if first[2] then reply[1] = string.format('%.0f', math.max(0, first[2] - now)) end
if reply[1] ~= '0' then call('DEL', KEYS[2]) end -- nothing to wake anybody for
if #reply > 1 then
  for i = 1, #reply, 1000 do -- Lua's stack is bounded
    call('RPUSH', KEYS[3], unpack(reply, i, math.min(#reply, i + 999)))
  end
  call('PEXPIRE', KEYS[3], string.format('%.0f', ARGV[3] / 1000))
end
return reply
