package redis

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAddressIsRead(t *testing.T) {
	t.Parallel()
	secret := file(t, "from file\n")
	for address, want := range map[string]target{
		"redis://h":                        {form: single, hosts: []string{"h:6379"}},
		"REDIS://h:7/3":                    {form: single, hosts: []string{"h:7"}, db: 3},
		"redis://h/":                       {form: single, hosts: []string{"h:6379"}},
		"redis://[::1]":                    {form: single, hosts: []string{"[::1]:6379"}},
		"redis://[fe80::1%eth0]:7":         {form: single, hosts: []string{"[fe80::1%eth0]:7"}},
		"redis://:pw@h":                    {form: single, hosts: []string{"h:6379"}, password: "pw"},
		"redis://u:p%40%2F%3A%25@h":        {form: single, hosts: []string{"h:6379"}, user: "u", password: "p@/:%"},
		"redis://u:a:b@c+d@h":              {form: single, hosts: []string{"h:6379"}, user: "u", password: "a:b@c+d"},
		"rediss://h?server_name=x":         {form: secure, hosts: []string{"h:6379"}, tls: true, certifiedAs: "x"},
		"rediss://h?ca=a%20b&cert=c&key=k": {form: secure, hosts: []string{"h:6379"}, tls: true, ca: "a b", cert: "c", key: "k"},
		"redis://h?prefix=p&keep=9&timeout=2s&retry=1m": {form: single, hosts: []string{"h:6379"}, prefix: "p", keep: 9,
			timeout: 2 * time.Second, retry: time.Minute},
		"redis://h?retry=0":                            {form: single, hosts: []string{"h:6379"}, retry: -1},
		"redis-cluster://u:p@a:1,b:2,[::1]:3?tls=true": {form: cluster, hosts: []string{"a:1", "b:2", "[::1]:3"}, user: "u", password: "p", tls: true},
		"redis-cluster://a/0":                          {form: cluster, hosts: []string{"a:6379"}},
		"redis-sentinel://a,b:2/mymaster/4":            {form: sentinel, hosts: []string{"a:26379", "b:2"}, master: "mymaster", db: 4},
		"redis-sentinel://a/m?sentinel_user=w&sentinel_password_file=" + secret: {form: sentinel, hosts: []string{"a:26379"}, master: "m",
			watchUser: "w", watchPassword: "from file"},
		"redis://u@h?password_file=" + secret: {form: single, hosts: []string{"h:6379"}, user: "u", password: "from file"},
	} {
		got, err := parse(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if d := cmp.Diff(want, *got, cmp.AllowUnexported(target{})); d != "" {
			t.Errorf("%s (−want +got):\n%s", address, d)
		}
	}
}

func TestBadAddressIsNamed(t *testing.T) {
	t.Parallel()
	empty := file(t, "\n")
	for address, want := range map[string]string{
		"":                                        "redis-sentinel://",
		"redis:h":                                 "redis://[USER",
		"http://h":                                "no address of Redis",
		"redis://":                                "a host is missing",
		"redis://:7":                              "a host is missing",
		"redis://u:p@":                            "a host is missing",
		"redis-cluster://a:1,":                    "a host is missing",
		"redis-cluster://a:1,a:1":                 "a:1 is named twice",
		"redis://h:x":                             "from 1 to 65535",
		"redis://h:0":                             "from 1 to 65535",
		"redis://h:65536":                         "from 1 to 65535",
		"redis://::1":                             "[::1]:6379",
		"redis://[::1":                            "no IPv6",
		"redis://[x]:1":                           "no IPv6",
		"redis://a b":                             "a host has characters",
		"redis://a:1,b:2":                         "takes one host",
		"redis://h/x":                             `database "x"`,
		"redis://h/-1":                            `database "-1"`,
		"redis://h/0/1":                           `database "0/1"`,
		"redis-cluster://h/1":                     "no databases",
		"redis-sentinel://h":                      "/mymaster",
		"redis-sentinel://h/m/x":                  `database "x"`,
		"redis://h#x":                             "%23",
		"redis://h?colour=red":                    `setting "colour" is unknown`,
		"redis://h?prefix":                        "prefix has no value",
		"redis://h?prefix=a&prefix=b":             "prefix is given twice",
		"redis://h?prefix=%7Bx%7D":                "none of {",
		"redis://h?prefix=%zz":                    "%25",
		"redis://h?keep=0":                        `setting keep: "0"`,
		"redis://h?timeout=5":                     `setting timeout: "5"`,
		"redis://h?retry=-1s":                     `setting retry: "-1s"`,
		"redis://h?tls=true":                      "write rediss://",
		"rediss://h?tls=false":                    "write redis://",
		"redis-cluster://h?tls=perhaps":           "neither true nor false",
		"redis://h?ca=x":                          "for TLS",
		"rediss://h?cert=x":                       "go together",
		"redis://h?sentinel_user=x":               "only redis-sentinel://",
		"redis://h?sentinel_password_file=x":      "only redis-sentinel://",
		"redis://h?password_file=/does/not/exist": "/does/not/exist",
		"redis://h?password_file=" + empty:        "holds one line",
		"redis://:p@h?password_file=" + empty:     "a password already",
	} {
		_, err := parse(address)
		if err == nil {
			t.Errorf("%s was taken", address)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %q does not say %q", address, err, want)
		}
	}
}

func TestNoSecretOfAnAddressIsShown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, address := range []string{
		"redis://:hunter2@h:1/0",
		"redis://hunter2@h",
		"redis://hunter2:@h",
		"redis://u:hunter2@h:x",
		"redis://u:hunter2@",
		"redis://u:hunter2",
		"redis://u:x/hunter2@h",
		"redis://u:x?hunter2@h",
		"redis://u:x#hunter2@h",
		"redis://u:x/hunter2?y@h",
		"redis://u:x@hunter2@h:70000",
		"redis://u:%zzhunter2@h",
		"redis://%zzhunter2:x@h",
		"redis:u:hunter2@h",
		"redis://h?password=hunter2",
		"redis://h?hunter2",
		"redis://h?HUNTER2&prefix=hunter2@x",
		"redis://h#hunter2",
		"redis-cluster://u:hunter2@a:1,b:2,b:2",
		"redis-cluster://a:1,u:hunter2@b:2",
		"redis-cluster://u:hunter2@a:1,b/7",
		"redis-sentinel://u:hunter2@a:1,b:2",
		"redis-sentinel://u:hunter2@a:1/m/x",
		"redis-sentinel://a:1/m?sentinel_password=hunter2",
		"rediss://u:hunter2@h?ca=/does/not/exist",
		"rediss://u:hunter2@h:1",
		"unix://u:hunter2@h",
		"u:hunter2@h",
	} {
		if shown := Redact(address); strings.Contains(strings.ToLower(shown), secret) {
			t.Errorf("Redact(%q) = %q", address, shown)
		}
		s, err := Open(t.Context(), address, &Options{Timeout: time.Millisecond, Retry: -1})
		if err == nil {
			s.Close()
			t.Errorf("%s was opened", address)
			continue
		}
		if strings.Contains(strings.ToLower(err.Error()), secret) {
			t.Errorf("opening %q: %v", address, err)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("user", "pass/word", "h:1,b:2/0?prefix=x")
	f.Add("", "@:?#", "[::1]:7")
	f.Fuzz(func(t *testing.T, user, password, rest string) {
		if strings.Contains(rest, "@") {
			t.Skip("what stands before the last @ is the password")
		}
		secret := "S3" + password + "cr3t"
		if strings.Contains(user+rest, secret) {
			t.Skip("not secret")
		}
		for form := range shapes {
			address := string(form) + "://" + user + ":" + secret + "@" + rest
			if shown := Redact(address); strings.Contains(shown, secret) {
				t.Errorf("Redact(%q) = %q", address, shown)
			}
			if _, err := parse(address); err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("parse(%q): %v", address, err)
			}
		}
	})
}

func TestRedactKeepsWhatHelps(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"redis://h:1/0":                            "redis://h:1/0",
		"redis://u:p@[::1]:7/0?prefix=x&keep=3":    "redis://[::1]:7/0?prefix=x&keep=3",
		"redis-cluster://u:p@a:1,b:2":              "redis-cluster://a:1,b:2",
		"redis-sentinel://u:p@a:1,b:2/m/3?nope=no": "redis-sentinel://a:1,b:2/m/3?***",
	} {
		if got := Redact(address); got != want {
			t.Errorf("Redact(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestAddressesOfRedisAreKnown(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"redis://h": true, "rediss://h": true, "redis-cluster://h": true, "redis-sentinel://h/m": true, "Redis:h": true,
		"sqlite:redis.db": false, "redis.db": false, "redis": false, "memory:": false, "": false, "redis-x://h": false,
	} {
		if got := IsAddress(address); got != want {
			t.Errorf("IsAddress(%q) = %v", address, got)
		}
	}
}

func TestOptionsWinOverTheAddressButForThePassword(t *testing.T) {
	t.Parallel()
	parsed, err := parse("redis://u:p@h?prefix=a&timeout=1s&retry=2s&keep=3")
	if err != nil {
		t.Fatal(err)
	}
	o, err := parsed.options(&Options{Prefix: "b", Timeout: 4 * time.Second, Retry: -1, Keep: 6, Password: "q"})
	if err != nil || o.Prefix != "b" || o.Timeout != 4*time.Second || o.Retry != -1 || o.Keep != 6 || parsed.password != "p" {
		t.Errorf("options are %+v with password %q (%v)", o, parsed.password, err)
	}
	if o, err = parsed.options(nil); err != nil || o.Prefix != "a" || o.Timeout != time.Second || o.Retry != 2*time.Second || o.Keep != 3 {
		t.Errorf("without options they are %+v (%v)", o, err)
	}
	bare, err := parse("redis://h")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bare.options(&Options{Password: "q"}); err != nil || bare.password != "q" {
		t.Errorf("password is %q (%v), want the option's", bare.password, err)
	}
	if _, err := bare.options(&Options{Prefix: "{x}"}); err == nil {
		t.Error("a prefix with braces was taken")
	}
}
