// Package local runs real control planes as child processes on 127.0.0.1: for people through cmd/local, for tests by
// import.
//
// A Cluster is etcd, kube-apiserver and on request kube-controller-manager. A KCP is one kcp with its embedded etcd.
// Nodes are KWOK, which plays the nodes of a cluster, OLM installs operators in one, Crossplane packages, and
// CertManager issues certificates: they work for a cluster that is there. The binaries come from .tools/bin of this
// module (make tools, make tools.e2e) and from nowhere else: not from PATH, not from envtest's variables.
//
// Everything a server writes is below the Dir of its options, its log as <program>.log. Data in Dir is used again by
// the next start in the same Dir; ports and certificates are new each time, so configurations of an earlier start do
// not work any more.
//
// # Processes
//
// Nothing outlives the program that started it. Stop asks first, kills after a deadline, and returns when the processes
// are gone. A failed start does the same before it returns. Each child is in a process group of its own, so Ctrl-C in a
// terminal reaches only the parent, which then stops its children in order. A parent that is killed cannot do so; there
// the kernel helps: on Linux each child is killed when its parent ends. Two things to know about that:
//
//   - Linux sends the signal when the thread ends that started the child, not the process. Package local therefore
//     starts children from threads of their own, which end after the children do.
//   - envtest decides how it starts etcd and kube-apiserver and offers no way to ask for the signal. What it runs is
//     therefore a script of ours that asks for it with setpriv(1), of util-linux 2.33 or later, and becomes the server.
//
// Where that setpriv is missing, and on other systems than Linux, a killed parent leaves servers behind.
//
// # Decisions
//
//   - envtest starts etcd and kube-apiserver: their flags, certificates and users are well kept there. Its Environment
//     is not used: it follows environment variables to other binaries and even to existing clusters, and retries where
//     we want the error.
//   - Ports come from below the ephemeral range and stay reserved until Stop, so that no outgoing connection and no
//     other start takes the port of a server between choosing and binding it, or while the server is down for a test.
//   - The API server lets more requests in at once than by default, and configurations carry no client-side limit:
//     tests must see the limits of what they test, not those of the test bed. Priority and fairness stay as they are.
//   - A cluster without a controller manager collects no garbage, empties no namespaces and makes no ServiceAccount
//     tokens.
package local
