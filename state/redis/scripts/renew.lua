-- Lengthens a lease that is held.
--
-- ARGV  [5] time to live from now, µs
-- Reply ok · those of a lost lease
--
-- May run twice: each time the lease ends a time to live later than the script.
local t = look()
local no = refused(t)
if no then return no end
t.till = now + tonumber(ARGV[5])
call('HSET', T, 'until', str(t.till), 'ttl', ARGV[5])
expire(t)
return { 'ok' }
