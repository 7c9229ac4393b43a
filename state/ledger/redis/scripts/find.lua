-- Reads what is known of a key.
--
-- Reply "0", the server's time (Unix µs), the fields of the hash (none: unknown)
return { '0', stamp, call('HGETALL', K) }
