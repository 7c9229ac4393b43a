-- Makes a stopped thread that nobody runs pending. It needs no lease.
--
-- ARGV  [3] and on: names of fields
-- Reply ok, then the values of the fields as they stand now · gone
--
-- May run twice: a pending thread stays as it is.
local t = look('ttl')
if not t then return { 'gone' } end
if live(t) then shorten(t) end
if (t.status == 'interrupted' or t.status == 'failed' or t.status == 'cancelled') and not live(t) then
  t.status = 'pending'
  call('HSET', T, 'status', t.status, 'cancel', '0', 'failure', '', 'updated', stamp)
  expire(t)
end
return { 'ok', unpack(call('HMGET', T, unpack(ARGV, 3))) }
