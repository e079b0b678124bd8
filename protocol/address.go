package protocol

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Scheme says how an address is reached (protocol §8).
type Scheme string

// Schemes. An address without prefix is a member.
const (
	SchemeMember    Scheme = "member"    // NAME, NAME@TEAM, lead, team-lead, @NAME
	SchemeBroadcast Scheme = "broadcast" // *
	SchemeUDS       Scheme = "uds"       // uds:PATH or an absolute path
	SchemeBridge    Scheme = "bridge"    // bridge:ID
	SchemeHTTP      Scheme = "http"      // http:// or https:// URL
)

// Address is where a message goes. The zero Address is invalid.
type Address struct {
	Scheme Scheme
	Member MemberName // SchemeMember
	Team   TeamName   // SchemeMember: set when the address named it
	Target string     // uds: path; bridge: id; http: URL
}

// AddressError says why a text is not an address and what would be one.
type AddressError struct {
	Address string
	Why     string
}

func (e *AddressError) Error() string { return fmt.Sprintf("address %s: %s", show(e.Address), e.Why) }

const knownForms = "use a member's name, name@team, *, uds:PATH, /PATH, bridge:ID or an http(s) URL"

// ParseAddress reads TO (commands §3): a name, name@team,
// team-lead (alias lead, also @name), *, uds:PATH, an absolute path, bridge:ID,
// http(s)://…; uds:///P and bridge://ID parse alike. Drive letters and unknown
// schemes are an error that lists the known ones. Its error is an *AddressError,
// or a *NameError for a member or team that is no valid name.
func ParseAddress(s string) (Address, error) {
	refuse := func(why string) (Address, error) { return Address{}, &AddressError{s, why} }
	switch {
	case s == "":
		return refuse("is empty; " + knownForms)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return refuse("holds control characters or broken UTF-8")
	case s == "*":
		return Address{Scheme: SchemeBroadcast}, nil
	case s[0] == '/':
		return socketAddress(s, s)
	case strings.HasPrefix(s, `\\`):
		return refuse("is a Windows path, which is not supported; " + knownForms)
	}
	scheme, rest, ok := cutScheme(s)
	if !ok {
		return memberAddress(s)
	}
	if len(scheme) == 1 {
		return refuse("begins with a drive letter, which is not supported; " + knownForms)
	}
	switch scheme {
	case "uds":
		return socketAddress(s, rest)
	case "bridge":
		id := strings.TrimPrefix(rest, "//")
		if id == "" || strings.ContainsAny(id, "/ ") {
			return refuse("needs an id without / or space after bridge:")
		}
		return Address{Scheme: SchemeBridge, Target: id}, nil
	case "http", "https":
		return webAddress(s, scheme+":"+rest)
	}
	return refuse("the scheme " + show(scheme+":") + " is not known; " + knownForms)
}

// cutScheme splits a URL-like prefix off, in lower case.
func cutScheme(s string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(s, ":")
	return strings.ToLower(scheme), rest, ok && schemeForm.MatchString(scheme)
}

var schemeForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// socketAddress reads a socket's path. uds:///P is uds:/P; a double slash before
// anything else would be a host, and a socket has none.
func socketAddress(s, path string) (Address, error) {
	if path == "" {
		return Address{}, &AddressError{s, "needs a path after uds:"}
	}
	if strings.HasPrefix(path, "//") {
		if s[0] != '/' && !strings.HasPrefix(path, "///") {
			return Address{}, &AddressError{s, "names a host; write uds:PATH or uds:///PATH"}
		}
		path = "/" + strings.TrimLeft(path, "/")
	}
	if strings.Trim(path, "/") == "" {
		return Address{}, &AddressError{s, "is the root directory, not a socket"}
	}
	return Address{Scheme: SchemeUDS, Target: path}, nil
}

// webAddress checks a URL. A password in it is refused because addresses are
// shown and recorded.
func webAddress(s, target string) (Address, error) {
	u, err := url.Parse(target)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return Address{}, &AddressError{s, "is not a URL with a host, such as http://host:8080/path"}
	case u.User != nil:
		return Address{}, &AddressError{s, "carries a user name; give credentials in the configuration"}
	}
	return Address{Scheme: SchemeHTTP, Target: target}, nil
}

// memberAddress reads NAME, @NAME and NAME@TEAM, with lead for team-lead.
func memberAddress(s string) (Address, error) {
	name, team, hasTeam := strings.Cut(s, "@")
	if name == "" && hasTeam { // @NAME
		name, team, hasTeam = team, "", false
	}
	a := Address{Scheme: SchemeMember, Member: Lead}
	if name != "lead" {
		m, err := ParseMember(name)
		if err != nil {
			return Address{}, err
		}
		a.Member = m
	}
	if hasTeam {
		t, err := ParseTeam(team)
		if err != nil {
			return Address{}, err
		}
		a.Team = t
	}
	return a, nil
}

// String is the canonical spelling; ParseAddress(a.String()) == a.
func (a Address) String() string {
	switch a.Scheme {
	case SchemeMember:
		if a.Team != "" {
			return string(NewAgentID(a.Member, a.Team))
		}
		return string(a.Member)
	case SchemeBroadcast:
		return "*"
	case SchemeUDS, SchemeBridge:
		return string(a.Scheme) + ":" + a.Target
	case SchemeHTTP:
		return a.Target
	}
	return ""
}
