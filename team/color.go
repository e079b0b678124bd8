package team

import (
	"slices"
	"strconv"
	"strings"
)

// Palette is the order in which colours are given to members (protocol §3).
var Palette = []string{"blue", "green", "yellow", "purple", "orange", "pink", "cyan", "red"}

// SeedPalette is the palette of the file format document (seed 002), for members of a team in that
// form.
var SeedPalette = []string{"blue", "green", "yellow", "magenta", "cyan", "red"}

// sgr are the terminal codes of the colours of both palettes. The six of seed 002
// are those of its table; purple is what it calls magenta.
var sgr = map[string]string{
	"red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "purple": "35", "cyan": "36",
	"orange": "38;5;208", "pink": "38;5;213",
}

// SGR returns the parameters that select a member's colour on a terminal: "34" for blue, to be
// written as ESC [ 34 m and ended by ESC [ 39 m. It accepts the colours of both palettes and #rgb
// and #rrggbb, and no others: other programs may write the registry's colours.
func SGR(color string) (params string, ok bool) {
	if s, ok := sgr[color]; ok {
		return s, true
	}
	hex, ok := strings.CutPrefix(color, "#")
	if !ok || len(hex) != 3 && len(hex) != 6 {
		return "", false
	}
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	n, err := strconv.ParseUint(hex, 16, 24)
	if err != nil {
		return "", false
	}
	return "38;2;" + strconv.FormatUint(n>>16, 10) + ";" + strconv.FormatUint(n>>8&0xff, 10) + ";" + strconv.FormatUint(n&0xff, 10), true
}

// Color is the colour the next member gets: the palette by the number of members
// without the lead, in turn, or the next one from there that looks like that of
// no present member.
func (c *Config) Color() string {
	palette := Palette
	if c.SeedForm() {
		palette = SeedPalette
	}
	at := 0
	var used []string
	for _, m := range c.Members {
		if m.IsLead() {
			continue
		}
		at++
		if params, ok := SGR(m.Color); ok && !m.Gone() {
			used = append(used, params)
		}
	}
	for i := range palette {
		if color := palette[(at+i)%len(palette)]; !slices.Contains(used, sgr[color]) {
			return color
		}
	}
	return palette[at%len(palette)]
}

// SeedForm reports a file in the form of seed 002: without a lead. Its readers look for messageId, and its members have
// what the document requires of them.
func (c *Config) SeedForm() bool {
	if c.kept == nil {
		return false
	}
	_, led := c.kept.object.Get("leadAgentId")
	return !led && c.LeadAgentID == ""
}
