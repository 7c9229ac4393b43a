package redis

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// form is how a Redis is reached, named by the scheme of its address.
type form string

const (
	single   form = "redis"
	secure   form = "rediss"
	cluster  form = "redis-cluster"
	sentinel form = "redis-sentinel"
)

// shapes say how an address of each form is written.
var shapes = map[form]string{
	single:   "redis://[USER:PASSWORD@]HOST[:PORT][/DB]",
	secure:   "rediss://[USER:PASSWORD@]HOST[:PORT][/DB]",
	cluster:  "redis-cluster://[USER:PASSWORD@]HOST:PORT,HOST:PORT",
	sentinel: "redis-sentinel://[USER:PASSWORD@]HOST:PORT,HOST:PORT/MASTER[/DB]",
}

// target is a parsed address.
type target struct {
	form                       form
	hosts                      []string // host:port
	db                         int
	master                     string // what the sentinels call it
	user, password             string
	watchUser, watchPassword   string // for the sentinels
	prefix                     string
	keep                       int
	timeout, retry             time.Duration
	tls                        bool
	ca, cert, key, certifiedAs string
}

// IsAddress says whether a store's address is one of Redis, well-formed or not.
func IsAddress(address string) bool {
	scheme, _, found := strings.Cut(address, ":")
	_, known := shapes[form(strings.ToLower(scheme))]
	return found && known
}

// parse reads an address. No error quotes a user or a password.
func parse(address string) (*target, error) {
	scheme, rest, found := strings.Cut(address, "://")
	t := &target{form: form(strings.ToLower(scheme))}
	shape := shapes[t.form]
	if !found || shape == "" {
		return nil, fmt.Errorf("no address of Redis: write %s, %s, %s or %s", shapes[single], shapes[secure], shapes[cluster], shapes[sentinel])
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	if strings.Contains(rest, "@") {
		return nil, errors.New("/, ? and # in a user or a password are written %2F, %3F and %23, and @ after the host %40")
	}
	if strings.Contains(rest, "#") {
		return nil, errors.New("# has no place in an address: write %23")
	}
	path, query, _ := strings.Cut(rest, "?")
	t.tls = t.form == secure
	for _, step := range []func() error{
		func() error { return t.readHosts(authority) },
		func() error { return t.readPath(path) },
		func() error { return t.readQuery(query) },
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("%w; the form is %s", err, shape)
		}
	}
	return t, nil
}

// readHosts reads "user:password@host:port,host:port".
func (t *target) readHosts(authority string) error {
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		user, password, _ := strings.Cut(authority[:at], ":")
		var err error
		if t.user, err = url.PathUnescape(user); err != nil {
			return errors.New("user has a % that no two hex digits follow: write %25")
		}
		if t.password, err = url.PathUnescape(password); err != nil {
			return errors.New("password has a % that no two hex digits follow: write %25")
		}
		authority = authority[at+1:]
	}
	port := "6379"
	if t.form == sentinel {
		port = "26379"
	}
	for host := range strings.SplitSeq(authority, ",") {
		h, err := withPort(host, port)
		if err != nil {
			return err
		}
		if slices.Contains(t.hosts, h) {
			return fmt.Errorf("host %s is named twice", h)
		}
		t.hosts = append(t.hosts, h)
	}
	if len(t.hosts) > 1 && (t.form == single || t.form == secure) {
		return fmt.Errorf("%s:// takes one host: for several write redis-cluster:// or redis-sentinel://", t.form)
	}
	return nil
}

// withPort completes "host", "host:port", "[v6]" or "[v6]:port". What is no port
// may be a password whose host was forgotten: it is not quoted.
func withPort(host, port string) (string, error) {
	bare := host
	if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		return "", errors.New("an IPv6 address stands in brackets, as in [::1]:6379")
	}
	if i := strings.LastIndex(host, ":"); i > strings.LastIndex(host, "]") {
		bare, port = host[:i], host[i+1:]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", errors.New("after the host's : stands its port, a number from 1 to 65535")
	}
	if inner, ok := strings.CutPrefix(bare, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if zoneless, _, _ := strings.Cut(inner, "%"); !ok || net.ParseIP(zoneless) == nil {
			return "", errors.New("what stands in brackets is no IPv6 address")
		}
		return net.JoinHostPort(inner, port), nil
	}
	switch {
	case bare == "":
		return "", errors.New("a host is missing")
	case strings.ContainsFunc(bare, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`[]%\"<>`, r) }):
		return "", errors.New("a host has characters that no host has")
	}
	return net.JoinHostPort(bare, port), nil
}

// readPath reads "/DB", or "/MASTER/DB" behind sentinels.
func (t *target) readPath(path string) error {
	path = strings.TrimPrefix(path, "/")
	switch t.form {
	case cluster:
		if path != "" && path != "0" {
			return fmt.Errorf("a cluster has no databases: leave /%s out", path)
		}
		return nil
	case sentinel:
		master, db, _ := strings.Cut(path, "/")
		var err error
		if t.master, err = url.PathUnescape(master); err != nil || t.master == "" {
			return errors.New("after the sentinels stands what they call the master, as in /mymaster")
		}
		path = db
	}
	if path == "" {
		return nil
	}
	db, err := strconv.ParseUint(path, 10, 31)
	if err != nil {
		return fmt.Errorf("database %q is no number from 0 on", path)
	}
	t.db = int(db)
	return nil
}

// secretFile reads a password from the first line of a file.
func secretFile(what, path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	line := strings.TrimRight(string(data), "\r\n")
	if line == "" || strings.ContainsAny(line, "\r\n") {
		return "", fmt.Errorf("%s: %s holds one line, the password", what, path)
	}
	return line, nil
}

// Redact returns an address for printing: without user and password, and
// without the value of any setting that it does not know.
func Redact(address string) string {
	head, rest := "", address
	if i := strings.Index(address, "://"); i >= 0 {
		head, rest = address[:i+3], address[i+3:]
	}
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		rest = rest[i+1:]
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, asked := strings.Cut(rest, "?")
	authority, path, slash := strings.Cut(rest, "/")
	hosts := strings.Split(authority, ",")
	for i, h := range hosts {
		if at := strings.LastIndex(h, ":"); at > strings.LastIndex(h, "]") {
			if _, err := strconv.ParseUint(h[at+1:], 10, 16); err != nil {
				hosts[i] = h[:at] + ":***" // a password whose host was forgotten
			}
		}
	}
	out := head + strings.Join(hosts, ",")
	if slash {
		out += "/" + path
	}
	if !asked {
		return out
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if name, _, ok := strings.Cut(pair, "="); !ok || settings[name] == nil {
			pairs[i] = "***"
		}
	}
	return out + "?" + strings.Join(pairs, "&")
}
