-- Counts.
-- KEYS   due, begun
-- ARGV   -
-- Reply  how many are due now, those whose turn is over among them; how many are
--        in a turn or due later
local clock = redis.call('TIME')
local now = string.format('%.0f', clock[1] * 1000000 + clock[2])
local due, later = 0, 0
for _, key in ipairs(KEYS) do
  due = due + redis.call('ZCOUNT', key, '-inf', now)
  later = later + redis.call('ZCOUNT', key, '(' .. now, '+inf')
end
return { due, later }
