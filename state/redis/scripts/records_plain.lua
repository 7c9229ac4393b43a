-- Upserts call records where nothing is out of the ordinary: what records.lua does
-- then, in half as many commands. Everything else is left to that script.
--
-- KEYS  of the thread: its fields, what is under way, its records; without the preamble
-- ARGV  [1] the lease's token, [2] the newest head that the store acknowledged under
--       it, [3] count of records, then of each six as in thread.lua; no field comes
--       twice
-- Reply ok · other: nothing has been written
--
-- The thread has a record already, its lease stands, and no record yields to the one
-- that is stored. Times are compared as text, which is right where they have as many
-- digits. The time of the newest record is written once a second. The
-- thread's expiry need not move: whoever lengthens the lease sees to that. The field
-- "under" holds the head that the hash of what is under way got its expiry for: it
-- is a new key with each head.
--
-- May run twice: an intent that is there already is left to the other script.
local call, T, U, R = redis.call, KEYS[1], KEYS[2], KEYS[3]
local other = { 'other' }
local f = call('HMGET', T, 'token', 'until', 'head', 'exp', 'last', 'under')
local till, head, last = f[2], f[3], f[5]
if f[1] ~= ARGV[1] or last == '0' then return other end
if head ~= ARGV[2] and tonumber(head) < tonumber(ARGV[2]) then return other end
local clock = call('TIME')
local stamp = clock[1] .. string.sub('00000' .. clock[2], -6)
if #till ~= #stamp or till <= stamp or #last ~= #stamp then return other end

local count, texts, results, olds = tonumber(ARGV[3]), { R }, { U }, nil
if count > 1 or ARGV[5] ~= '0' then
  local fields = { R }
  for n = 1, count do fields[n + 1] = ARGV[6 * n - 2] end
  olds = call('HMGET', unpack(fields))
end
for n = 1, count do
  local at = 6 * n - 3
  local field, kind, started, came = ARGV[at + 1], ARGV[at + 2], ARGV[at + 4], stamp .. ' ' .. n
  local old = olds and olds[n]
  if old then
    local oldkind, oldstarted, oldcame = string.match(old, '^([01]) (%S+) (%S+ %d+)\n')
    if not oldkind or oldkind == '1' and kind == '0' then return other end
    came = oldcame
    if started == '-' then started = oldstarted end
  elseif started == '-' then
    started = stamp .. '000'
  end
  local begun = string.sub(started, 1, -4)
  if #begun ~= #last then return other end
  if begun > last then last = begun end
  texts[2 * n], texts[2 * n + 1] = field, kind .. ' ' .. started .. ' ' .. came .. '\n' .. ARGV[at + 5]
  if ARGV[at + 3] == head then
    results[#results + 1] = 'r:' .. field
    results[#results + 1] = ARGV[at + 6]
  end
end

if olds then
  call('HSET', unpack(texts))
elseif call('HSETNX', R, texts[2], texts[3]) == 0 then
  return other
end
if #results > 1 then
  call('HSET', unpack(results))
  if f[6] ~= head then
    call('HSET', T, 'last', last, 'under', head)
    call('PEXPIREAT', U, string.format('%.0f', f[4] / 1000), 'NX')
    return { 'ok' }
  end
end
if string.sub(last, 1, 10) > string.sub(f[5], 1, 10) then call('HSET', T, 'last', last) end
return { 'ok' }
