package router_test

import (
	"net/netip"
	"testing"

	"junction/router"
)

func TestAddressesOfMachineMetadataAreKnownInEveryForm(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"169.254.169.254": true, "169.254.170.2": true, "::ffff:169.254.169.254": true, "::169.254.169.254": true,
		"64:ff9b::169.254.169.254": true, "fe80::1%eth0": true, "fe80::1": true,
		"100.100.100.200": true, "fd00:ec2::254": true, "fd00:ec2::254%eth0": true, "fd20:ce::254": true, "192.0.0.192": true, "168.63.129.16": true,
		"::ffff:100.100.100.200": true,
		"127.0.0.1":              false, "::1": false, "10.0.0.1": false, "fd00:ec2::1": false, "64:ff9b::10.0.0.1": false, "100.64.0.1": false,
	} {
		if got := router.ServesMetadata(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}
