// Package teamfile reads what a person writes for waggle: the team file and what it means.
package teamfile
