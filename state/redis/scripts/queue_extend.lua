-- Lengthens turns that are not over, counted from now.
-- KEYS   begun, reply
-- ARGV   the turn, µs; µs for which the reply is kept; then thread and end of its
--        turn of each
-- Reply  "" then thread and new end of its turn, Unix µs, of those that still held
-- Twice  the reply is kept under a key of its own and given again: the ends that
--        it was asked about are those before.
local call = redis.call
local earlier = call('LRANGE', KEYS[2], 0, -1)
if #earlier > 0 then return earlier end
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local reply = { '' }
for i = 3, #ARGV, 2 do
  local held = tonumber(call('ZSCORE', KEYS[1], ARGV[i]))
  if held and held == tonumber(ARGV[i + 1]) and held > now then
    local till = now + ARGV[1]
    if till == held then till = till + 1 end
    till = string.format('%.0f', till)
    call('ZADD', KEYS[1], till, ARGV[i])
    reply[#reply + 1] = ARGV[i]
    reply[#reply + 1] = till
  end
end
for i = 1, #reply, 1000 do -- Lua's stack is bounded
  call('RPUSH', KEYS[2], unpack(reply, i, math.min(#reply, i + 999)))
end
call('PEXPIRE', KEYS[2], string.format('%.0f', ARGV[2] / 1000))
return reply
