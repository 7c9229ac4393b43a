-- Asks whoever runs the thread to stop; one that nobody runs is cancelled. It
-- needs no lease. A completed thread stays as it is.
--
-- ARGV  [3] channel, [4] id: what is published there
-- Reply ok · gone
--
-- May run twice: it asks again.
local t = look('ttl')
if not t then return { 'gone' } end
if t.status == 'completed' then return { 'ok' } end
if live(t) then shorten(t) else t.status = 'cancelled' end
call('HSET', T, 'cancel', '1', 'status', t.status, 'updated', stamp)
expire(t)
call('PUBLISH', ARGV[3], ARGV[4])
return { 'ok' }
