// Package teamfile reads the files that a person writes for waggle: the team file and the user's
// configuration.
package teamfile
