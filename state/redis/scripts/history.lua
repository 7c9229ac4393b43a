-- Reads checkpoints without values.
--
-- ARGV  [1] Seq they are older than, "0": from the head, [2] how many at most,
--       "0": all
-- Reply ok, lineage, Seq of the first, [element of the list of heads, …] oldest
--       first · gone
--
-- May run twice: it writes nothing.
local t = look('lineage', 'base')
if not t then return { 'gone' } end
local base, last = tonumber(t.base), tonumber(t.head)
if ARGV[1] ~= '0' then last = math.min(last, tonumber(ARGV[1]) - 1) end
local first = base
if ARGV[2] ~= '0' then first = math.max(base, last - tonumber(ARGV[2]) + 1) end
if last < first then return { 'ok', t.lineage, str(first), {} } end
return { 'ok', t.lineage, str(first), call('LRANGE', C, first - base, last - base) }
