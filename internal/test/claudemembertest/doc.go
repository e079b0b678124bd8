// Package claudemembertest runs the whole program with members of agent claude: the real clients,
// against a scripted model.
package claudemembertest
