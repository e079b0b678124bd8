package schema

// Of makes the schema of a payload with other fields than its table has.
var Of = of
