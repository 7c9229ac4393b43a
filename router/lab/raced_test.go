//go:build race

package lab

const raced = true
