-- Remembers a session, or replaces the one of the same id.
--
-- ARGV  [5] id, [6] the session
-- Reply ok · those of a lost lease
--
-- May run twice: it writes the same again.
local t = look()
local no = refused(t)
if no then return no end
call('HSET', S, ARGV[5], ARGV[6])
wrote(S)
expire(t)
return { 'ok' }
