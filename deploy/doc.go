// Package deploy has no code: its tests hold the files of this folder to each other
// and to the program that they deploy. README.md says what the files are.
package deploy
