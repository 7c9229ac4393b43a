-- Lengthens a lease, also one that has ended and that nobody took over.
--
-- ARGV  [2] lease, µs
-- Reply ok · lost
--
-- May run twice.
local e = look()
if not e or e.owner ~= owner or e.done then return 'lost' end
call('HSET', K, 'until', ahead(ARGV[2]))
keep()
return 'ok'
