package operator

import "waggle"

// Live names the members of a team whose process runs, and whether somebody
// leads it. It takes no lease.
func (o Operator) Live(s *State) (members []waggle.MemberName, led bool, err error) {
	for _, m := range s.Lead.Live() {
		if m.Process != nil && m.Process.ID.Alive() {
			members = append(members, m.Name)
		}
	}
	led, err = s.Dir.Led()
	return members, led, err
}

// RunPath is RUN.
func (o Operator) RunPath() string {
	if o.RunDir == "" {
		return o.Home.Run()
	}
	return o.RunDir
}
