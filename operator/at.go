package operator

import (
	"net/url"
	"os"

	"waggle/home"
	"waggle/poll"
	"waggle/team"
)

// At is the operator of a wire tree and a STATE, two absolute paths, in this process. A
// program that starts members sets Environ, and Self where they are processes.
func At(root, state string, m poll.Minter) Operator {
	return Operator{Root: team.Root{Path: root}, RootURL: (&url.URL{Scheme: "file", Path: root}).String(), Home: home.Home{Path: state}, Minter: m, PID: os.Getpid()}
}
