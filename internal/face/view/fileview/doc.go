// Package fileview says what a team file means, line by line, for the person who accepts it.
package fileview
