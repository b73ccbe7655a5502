// Package kube gives tests real API servers. It is for _test.go files only.
//
// One package of tests has one server, or two where local and target must not be confused, and each test a namespace of
// its own:
//
//	var local, target kube.Server
//
//	func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }
//
//	func TestApply(t *testing.T) {
//		ns := target.Namespace(t)
//		c := target.Client(t)
//		...
//	}
//
// Servers start at the same time, in about three seconds, and are gone when Run returns, when the run is interrupted,
// and on Linux also when it is killed. If a binary is missing the run fails and says so; nothing is skipped.
//
// What a server costs is counted from its audit log, not from a fake transport: every request, by whomever, makes one
// line. Tests that count must give the code under test a user of its own (Server.User), as Run, envtest and the test
// itself make requests too.
//
// Without ControllerManager there is no garbage collection: assert owner references, not cascades; deleted namespaces
// stay Terminating, which is in nobody's way as each test has its own.
//
// Wait with Eventually, never by sleeping.
package kube
