// Package machine has the tables of the machines of a team: the states of a worker, of a
// member as its leader has it, of a request and of the team, the events that move them,
// and every move that there is. They describe what the folds of package control do, which
// have the states: a Notifier finds the row of each move and tells an Observer, and
// refuses a record that is not written yet and whose move no table has. The diagrams in
// docs/design/machines.md are generated from the tables.
package machine
