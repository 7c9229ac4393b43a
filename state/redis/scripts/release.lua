-- Ends a lease. Its token stays.
--
-- Reply ok · those of a lost lease
--
-- May run twice: the second time the lease is released already, which the caller
-- takes for success.
local t = look()
local no = refused(t)
if no then return no end
call('HSET', T, 'until', '0')
t.till = 0
expire(t)
return { 'ok' }
