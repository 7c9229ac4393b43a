package wire

import (
	"testing"

	"junction/router"
	"junction/router/static"
)

func TestWhatWasGivenForOneConsulIsNotGivenToAnother(t *testing.T) {
	t.Parallel()
	const own = "https://consul.internal:8501"
	config := &static.Config{Consul: &static.Consul{
		Address: own, Token: "s3cret", CertFile: "c", KeyFile: "k", CAFile: "ca", ServerName: "n", Trust: true,
		Services: map[string]router.Service{"x": {}},
	}}
	for flag, same := range map[string]bool{"": true, own: true, "http://127.0.0.1:8500": false} {
		o, asked := consulOptions(config, Settings{Consul: flag})
		if given := o.Token != "" && o.CertFile != "" && o.KeyFile != "" && o.ServerName != "" && o.Trust; !asked || given != same {
			t.Errorf("with --consul %q: token %t, certificate %q, trust %t", flag, o.Token != "", o.CertFile, o.Trust)
		}
		if anything := o.Token != "" || o.CertFile != "" || o.KeyFile != "" || o.Trust; anything != same || len(o.Services) != 1 {
			t.Errorf("with --consul %q: %+v", flag, o.Services)
		}
	}
	if _, asked := consulOptions(nil, Settings{}); asked {
		t.Error("a Consul is asked that nobody named")
	}
}
