-- Ends a lease. Its token stays. A request to stop that was not heeded makes the
-- thread cancelled, unless it has ended.
--
-- Reply ok · those of a lost lease
--
-- May run twice: the second time the lease is released already, which the caller
-- takes for success.
local t = look('cancel')
local no = refused(t)
if no then return no end
call('HSET', T, 'until', '0')
t.till = 0
if t.cancel == '1' and (t.status == 'pending' or t.status == 'running' or t.status == 'interrupted') then
  t.status = 'cancelled'
  call('HSET', T, 'status', t.status, 'updated', stamp)
end
expire(t)
return { 'ok' }
