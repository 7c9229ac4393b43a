-- The preamble of every script of a ledger: one hash, one key of the ledger.
--
-- KEYS  [1] the hash
-- ARGV  [1] owner; the last one how long the entry is kept, ms (0: always)
--
-- Fields: key, fp, receipt, owner, claims, exec, claimed; until while it is
-- claimed; result and done once it is committed. Times are Unix µs.
local K, owner = KEYS[1], ARGV[1]
local call = redis.call
local clock = call('TIME')
local stamp = clock[1] .. string.sub('00000' .. clock[2], -6)

-- ahead is a time that lies so many µs ahead.
local function ahead(us) return string.format('%.0f', tonumber(stamp) + tonumber(us)) end

local function keep()
  local ms = ARGV[#ARGV]
  if ms == '0' then call('PERSIST', K) else call('PEXPIRE', K, ms) end
end

local function look()
  local f = call('HMGET', K, 'fp', 'owner', 'until', 'done')
  if not f[1] then return nil end
  return { fp = f[1], owner = f[2], done = f[4], live = tonumber(stamp) < tonumber(f[3] or 0) }
end
