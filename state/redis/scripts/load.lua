-- Reads a checkpoint with its values, and what has happened since when it is the
-- head.
--
-- ARGV  [1] Seq, "0": the head
-- Reply ok, lineage, Seq, element of the list of heads, [Seq, frame of values, …],
--       Seq of the first log, [frame of logs, …], "1" when it is the head, [field,
--       value, …] of what is under way, [field, value, …] of its records
--       gone · none: there is no such checkpoint · corrupt, what
--
-- May run twice: it writes nothing.
local t = look('lineage', 'base', 'lbase')
if not t then return { 'gone' } end
local head, base, lbase = tonumber(t.head), tonumber(t.base), tonumber(t.lbase)
local seq = tonumber(ARGV[1])
if seq == 0 then seq = head end
if seq < base or seq > head then return { 'none' } end
local element = call('LINDEX', C, seq - base)
local refs = references(element, seq)
if not refs then return { 'corrupt', 'checkpoint ' .. str(seq) } end

local values, seen, first = {}, {}, seq + 1
for _, ref in pairs(refs) do
  if ref[2] then
    first = math.min(first, ref[1])
  elseif not seen[ref[1]] then
    seen[ref[1]] = true
    values[#values + 1] = str(ref[1])
    values[#values + 1] = call('HGET', V, str(ref[1]))
  end
end
local logs = {}
if first <= seq then logs = call('LRANGE', L, first - lbase, seq - lbase) end
local underway, kept = {}, {}
if seq == head then
  underway = call('HGETALL', U)
  for i = 1, #underway, 2 do
    if string.sub(underway[i], 1, 2) == 'r:' then
      local field = string.sub(underway[i], 3)
      kept[#kept + 1] = field
      kept[#kept + 1] = call('HGET', R, field)
    end
  end
end
return { 'ok', t.lineage, str(seq), element, values, str(first), logs, seq == head and '1' or '0', underway, kept }
