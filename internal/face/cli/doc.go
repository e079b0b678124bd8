// Package cli is the command line: it puts the commands of the packages below it and its
// own into one tree, and runs it. Package app is what every command needs; decidecmd has
// the commands about what waits for a person, and teamcmd those that make, run and end
// teams.
package cli
