package operator

import (
	"net/url"
	"os"

	"waggle/home"
	"waggle/poll"
	"waggle/team"
)

// At returns an Operator for a wire tree and a STATE, two absolute paths, with the identity of this
// process. A program that starts members also sets Environ, and Self when members are processes.
func At(root, state string, m poll.Minter) Operator {
	return Operator{Root: team.Root{Path: root}, RootURL: (&url.URL{Scheme: "file", Path: root}).String(), Home: home.Home{Path: state}, Minter: m, PID: os.Getpid()}
}
