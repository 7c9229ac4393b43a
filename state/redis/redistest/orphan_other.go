//go:build !linux

package redistest

import "os/exec"

// dieWithUs cannot be had here: a killed test process leaves its servers.
func dieWithUs(*exec.Cmd) {}
