// Package teamcmd has the commands that make, start, show, stop and keep teams and their
// members.
package teamcmd
