-- Frees a key, or ends the lease of its claim.
--
-- ARGV  [2] "1": the claim stays
-- Reply ok, also when the key is not this owner's
--
-- May run twice.
local e = look()
if not e or e.owner ~= owner or e.done then return 'ok' end
if ARGV[2] == '1' then call('HSET', K, 'until', '0') else call('DEL', K) end
return 'ok'
