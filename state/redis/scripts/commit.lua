-- Advances a thread by one superstep.
--
-- ARGV  [5] parent, [6] time of the parent, µs, whose references the head was
--       computed from, [7] write id or "", [8] step, [9] status, [10] text of the
--       head, [11] frame of logs, [12] frame of values or "", [13] checkpoints to
--       keep (0: all), then blobs, then records
-- Reply ok, created (µs), lineage
--       same, lineage, element of the head, head: the write id is that of the head
--       head, head: it is not the parent · stale, time: the parent is another
--       gone and those of a lost lease · corrupt
--
-- May run twice: the write id is kept with the head and is looked at before the
-- lease, which may have ended in between.
local t = look('at', 'write_id', 'waiting', 'lineage')
if not t then return { 'gone' } end
if ARGV[7] ~= '' and t.write_id == ARGV[7] then return { 'same', t.lineage, call('LINDEX', C, -1), t.head } end
local no = refused(t)
if no then return no end
if t.head ~= ARGV[5] then return { 'head', t.head } end
if t.at ~= ARGV[6] then return { 'stale', t.at } end
local after = 15 + 2 * tonumber(ARGV[14])
local merged, bad = records(after)
if bad then return bad end

local seq = str(tonumber(t.head) + 1)
call('RPUSH', C, seq .. ' ' .. stamp .. '\n' .. ARGV[10])
call('RPUSH', L, ARGV[11])
if ARGV[12] ~= '' then call('HSET', V, seq, ARGV[12]) end
blobs(14)
put(t, merged, nil)
call('UNLINK', U)
call('HSET', T, 'head', seq, 'at', stamp, 'updated', stamp, 'step', ARGV[8], 'write_id', ARGV[7])
if t.waiting ~= '0' then call('HSET', T, 'waiting', '0') end
if t.status ~= ARGV[9] then -- a running thread has no failure
  t.status = ARGV[9]
  call('HSET', T, 'status', t.status, 'failure', '')
end

-- trim lets go of the oldest checkpoint, of the values that only it refers to,
-- and of the log before the oldest generation that the next one refers to. It
-- keeps what it cannot read.
local function trim(base, lbase)
  local pair = call('LRANGE', C, 0, 1)
  local old, kept = references(pair[1], base), references(pair[2], base + 1)
  if not old or not kept then return nil end
  local used, first = {}, base + 1
  for _, ref in pairs(kept) do
    if ref[2] then first = math.min(first, ref[1]) else used[ref[1]] = true end
  end
  for _, ref in pairs(old) do
    if not ref[2] and not used[ref[1]] then
      call('HDEL', V, str(ref[1]))
      used[ref[1]] = true
    end
  end
  call('LPOP', C)
  if first > lbase then call('LTRIM', L, first - lbase, -1) end
  call('HSET', T, 'base', str(base + 1), 'lbase', str(math.max(first, lbase)))
  return math.max(first, lbase)
end

if ARGV[13] ~= '0' then
  local bases = call('HMGET', T, 'base', 'lbase')
  local base, lbase = tonumber(bases[1]), tonumber(bases[2])
  -- A few at a time, where more were kept before.
  local last = math.min(tonumber(seq) - tonumber(ARGV[13]), base + 15)
  while base <= last and lbase do
    lbase = trim(base, lbase)
    base = base + 1
  end
end
expire(t)
return { 'ok', stamp, t.lineage }
