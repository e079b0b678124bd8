// Package jsontext reads and writes the strings of JSON as JavaScript programs do, lone
// surrogates included, and names the types of values.
package jsontext
