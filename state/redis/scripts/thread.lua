-- The preamble of every script of a thread.
--
-- KEYS  the eight keys of the thread, in the order of keys.go
-- ARGV  of scripts that write: [1], [2] the retention of completed and of all
--       other threads, µs; of those under a lease also [3] its token and [4] the
--       newest head that the store acknowledged under it (0: none known)
--
-- Numbers that are stored or passed on go through str: Lua's own text of a time
-- in µs would be 1.76e+15. A reply is a list whose first element says what it is:
--   ok             done; what follows is the script's own
--   gone           there is no such thread, or it was made after the lease was given
--   taken, released, ended   the lease is lost, and why
--   back, what, n  the store stands behind what was acknowledged: token or head
--   corrupt, what  something stored cannot be read
-- Nothing has been written in any case but the first.
local T, C, L, V, U, R, B, S = unpack(KEYS)
local call = redis.call

local function str(n) return string.format('%.0f', n) end

-- The server's time, Unix µs.
local clock = call('TIME')
local stamp = clock[1] .. string.sub('00000' .. clock[2], -6)
local now = tonumber(stamp)

-- look reads what every script needs of the thread, and the fields it names, as
-- they are stored. It returns nil when there is no thread.
local function look(...)
  local f = call('HMGET', T, 'status', 'token', 'until', 'head', 'created', 'exp', ...)
  if not f[1] then return nil end
  local t = { status = f[1], token = tonumber(f[2]), till = tonumber(f[3]), head = f[4], created = f[5], exp = tonumber(f[6]) }
  for i, name in ipairs({ ... }) do t[name] = f[6 + i] end
  return t
end

-- live says whether somebody holds the thread.
local function live(t) return now < t.till end

-- shorten takes off a lease what a clock that stepped back has added to it: it
-- lasts its length from when somebody asks. t holds its ttl.
local function shorten(t)
  local length = tonumber(t.ttl)
  if t.till - now <= length then return end
  t.till = now + length
  call('HSET', T, 'until', str(t.till))
end

-- refused is the reply to a lease that no longer stands.
local function refused(t)
  local token = tonumber(ARGV[3])
  if not t or tonumber(t.created) > token then return { 'gone' } end
  if t.token < token then return { 'back', 'token', str(t.token) } end
  if t.token > token then return { 'taken' } end
  if t.till == 0 then return { 'released' } end
  if not live(t) then return { 'ended' } end
  if tonumber(t.head) < tonumber(ARGV[4]) then return { 'back', 'head', t.head } end
  return nil
end

-- wrote notes a key that may be new.
local written = {}
local function wrote(key) written[#written + 1] = key end

-- expire keeps every key of the thread to one deadline, which follows the newest
-- change (or the lease's end) by the retention of its status. It moves only when
-- it is off by an hour or by an eighth of the retention; else the keys that may
-- be new get the deadline that stands.
local function expire(t)
  local keep = tonumber(t.status == 'completed' and ARGV[1] or ARGV[2])
  local want = math.max(now, t.till) + keep
  if t.exp and math.abs(want - t.exp) <= math.min(3600000000, keep / 8) then
    for _, key in ipairs(written) do call('PEXPIREAT', key, str(t.exp / 1000), 'NX') end
    return
  end
  for _, key in ipairs(KEYS) do call('PEXPIREAT', key, str(want / 1000)) end
  call('HSET', T, 'exp', str(want))
end

-- references reads those of the element of the list of heads that belongs to a
-- Seq: per channel the Seq of its value, or of its log's generation and its
-- length. It returns nil for anything else.
local function references(element, seq)
  local line = string.match(element or '', '^' .. str(seq) .. ' %d+\n([^\n]*)\n')
  local ok, found = pcall(cjson.decode, line or '')
  if not ok or type(found) ~= 'table' then return nil end
  for _, ref in pairs(found) do
    if type(ref) ~= 'table' or type(ref[1]) ~= 'number' then return nil end
  end
  return found
end

-- blobs stores large values that are new; from ARGV[i] their count, then hash and
-- data of each. It returns the place after them.
local function blobs(i)
  local last = i + 2 * tonumber(ARGV[i])
  for at = i + 1, last, 2 do call('HSETNX', B, ARGV[at], ARGV[at + 1]) end
  if last > i then wrote(B) end
  return last + 1
end

-- records reads what stands under the records to be written and merges by the
-- rules of state.Merge: from ARGV[i] their count, then of each its field, its
-- kind (0 open, 1 ended, 2 final success), its Seq, when it started (Unix ns,
-- "-": now or when the one it replaces did), its JSON, and "" or "=" and its
-- result. A stored record is "KIND STARTED CAME PLACE\nJSON": CAME and PLACE, the
-- time and the place in its operation at which it first came, give it an order.
-- It writes nothing, and returns nil and a reply when one cannot be read.
local function records(i)
  local out, newest = {}, {} -- newest: texts of this operation, by field
  for n = 1, tonumber(ARGV[i]) do
    local at = i + 6 * (n - 1)
    local r = { field = ARGV[at + 1], seq = ARGV[at + 3], result = ARGV[at + 6] }
    local kind, started, came = ARGV[at + 2], ARGV[at + 4], stamp .. ' ' .. n
    local old, keep = newest[r.field] or call('HGET', R, r.field), true
    if old then
      local oldkind, oldstarted, oldcame = string.match(old, '^(%d) (%S+) (%S+ %d+)\n')
      if not oldkind then return nil, { 'corrupt', 'record ' .. r.field } end
      keep = oldkind ~= '2' and not (oldkind == '1' and kind == '0')
      came = oldcame
      if started == '-' then started = oldstarted end
    elseif started == '-' then
      started = stamp .. '000'
    end
    if keep then
      r.text = kind .. ' ' .. started .. ' ' .. came .. '\n' .. ARGV[at + 5]
      r.started = tonumber(string.sub(started, 1, -4)) or 0
      newest[r.field] = r.text
    end
    out[n] = r
  end
  return out
end

-- put writes merged records. Those of the superstep that started from head keep
-- their results with what is under way; with head nil it is over.
local function put(t, merged, head)
  if #merged == 0 then return end
  local before = tonumber(t.last or call('HGET', T, 'last'))
  local last, underway, first = before, false, false
  for _, r in ipairs(merged) do
    if r.text then
      first = call('HSET', R, r.field, r.text) == 1 and before == 0 or first -- the key is new only with the thread's first record
      last = math.max(last, r.started)
      if r.seq == head then underway = call('HSET', U, 'r:' .. r.field, r.result) == 1 or underway end
    end
  end
  if last > before then call('HSET', T, 'last', str(last)) end
  if first then wrote(R) end
  if underway then wrote(U) end
end
