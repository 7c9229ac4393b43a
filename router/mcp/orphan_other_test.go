//go:build !unix

package mcp_test

import "os"

func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err == nil {
		p.Release()
	}
	return err == nil
}

func parent() int { return 1 }
