//go:build !race

package lab

const raced = false
