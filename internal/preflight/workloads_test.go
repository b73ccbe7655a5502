package preflight

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// nowhere is a control plane that is not asked.
var nowhere = &rest.Config{Host: "https://127.0.0.1:1"}

const formerDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: peer, namespace: crossplane-system}
spec:
  replicas: 1
  template:
    spec:
      containers:
        - {name: sidecar, image: "example.org/changelogs-sidecar:v0.0.1", args: [--not-ours]}
        - {name: package-runtime, image: "registry.example.org:5000/mirror/provider-kubernetes:v1.3.1"}
`

func TestJudgeWorkloads(t *testing.T) {
	const (
		ourDeployment = `{metadata: {name: kcp}, spec: {template: {spec: {containers: ` +
			`[{name: package-runtime, image: "example.org/provider-kcp:v0.1.0"}]}}}}`
		owned = "metadata: {ownerReferences: " +
			"[{apiVersion: pkg.crossplane.io/v1, kind: ProviderRevision, name: r, uid: u}]}"
		stop = "kubectl scale deployment peer -n crossplane-system --replicas=0"
		at   = "crossplane-system/peer"
	)
	none := []Finding{{
		Effect: Kept, What: "Deployment of provider-kubernetes",
		Why: "this control plane has none: stop the former provider where it runs",
	}}
	runs := []Finding{one(at, refused("Deployment of provider-kubernetes that runs", "both would write the same "+
		"resources", stop))}
	for name, tc := range map[string]struct {
		reason      string
		deployments []string // laid over the former one, each
		want        []Finding
	}{
		"None": {
			reason: "None here is not none anywhere.",
			want:   none,
		},
		"Runs": {
			reason:      "One that runs is to be stopped.",
			deployments: []string{""},
			want:        runs,
		},
		"Program": {
			reason: "It is known by its program, too.",
			deployments: []string{`spec: {template: {spec: {containers: [{name: x, image: "example.org/kubernetes:1", ` +
				`command: [/usr/local/bin/crossplane-kubernetes-provider]}]}}}`},
			want: runs,
		},
		"Other": {
			reason:      "Other Deployments are nobody's business.",
			deployments: []string{`spec: {template: {spec: {containers: [{name: x, image: "example.org/provider-helm:1"}]}}}`},
			want:        none,
		},
		"Stopped": {
			reason:      "One without replicas is stopped.",
			deployments: []string{"spec: {replicas: 0}"},
			want:        []Finding{one(at, kept("Deployment of provider-kubernetes that is stopped"))},
		},
		"Stopping": {
			reason:      "One whose pods are still there runs.",
			deployments: []string{"{spec: {replicas: 0}, status: {replicas: 1}}"},
			want:        runs,
		},
		"OfCrossplane": {
			reason:      "Crossplane stops what it has started.",
			deployments: []string{owned},
			want: []Finding{{
				Effect: Kept, What: "Deployment of provider-kubernetes that Crossplane runs", Count: 1, Names: []string{at},
				Why: "Crossplane stops it when you change spec.package of the Provider",
			}},
		},
		"Both": {
			reason:      "It does not if the other was installed beside it.",
			deployments: []string{owned, ourDeployment},
			want: []Finding{one(at, refused("Deployment of provider-kubernetes that runs next to this provider",
				"both would write the same resources", "stop one of them: "+stop))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &workloads{}
			for _, d := range tc.deployments {
				if err := w.addDeployment(ProviderKubernetes, read(t, formerDeployment, d)); err != nil {
					t.Fatal(err)
				}
			}
			tally := newTally()
			w.judge(tally, ProviderKubernetes)
			if diff := cmp.Diff(tc.want, tallied(tally)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestArguments shows that flags of an agent are found as the chart of kcp-dev writes them.
func TestArguments(t *testing.T) {
	w := &workloads{}
	if err := w.addDeployment(APISyncAgent, read(t, formerDeployment, `
metadata: {namespace: kcp}
spec: {template: {spec: {containers: [{name: agent, image: "ghcr.io/kcp-dev/api-syncagent:v0.6.0",
  args: [--namespace=$(POD_NAMESPACE), --agent-name=$(AGENT_NAME), --apiexport-ref, "$(EXPORT)-a"], env: [
    {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}},
    {name: AGENT_NAME, value: north}, {name: EXPORT, value: services}]}]}}}`)); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{
		"--namespace": "kcp", "--agent-name": "north", "--apiexport-ref": "services-a", "--apiexportendpointslice-ref": "",
	} {
		if got := w.former[0].value(flag); got != want {
			t.Errorf("%s: want %q, got %q", flag, want, got)
		}
	}
}

func TestJudgeAccount(t *testing.T) {
	const (
		config = `
apiVersion: pkg.crossplane.io/v1beta1
kind: DeploymentRuntimeConfig
metadata: {name: peer}
spec: {deploymentTemplate: {spec: {selector: {}, template: {spec: {
  containers: [{name: package-runtime, args: [--debug]}]}}}}}
`
		provider = "{apiVersion: pkg.crossplane.io/v1, kind: Provider, metadata: {name: p}, " +
			"spec: {runtimeConfigRef: {name: peer}}}"
		former = "{spec: {package: xpkg.crossplane.io/crossplane-contrib/provider-kubernetes:v1.3.1}}"
	)
	for name, tc := range map[string]struct {
		reason   string
		provider string // laid over one that names the DeploymentRuntimeConfig
		config   string // laid over the DeploymentRuntimeConfig
		want     []Finding
	}{
		"Account": {
			reason:   "Without a name for the ServiceAccount the new package has another one.",
			provider: former,
			want: []Finding{one("peer", refused("ServiceAccount that the DeploymentRuntimeConfig does not name",
				"Crossplane names it after the package, and the bindings of the former name no longer apply",
				"set the current ServiceAccount in it: docs/how-to/migrate-from-provider-kubernetes.md, step 4"))},
		},
		"Named": {
			reason:   "One that is named stays.",
			provider: former,
			config:   "spec: {serviceAccountTemplate: {metadata: {name: peer}}}",
			want:     []Finding{},
		},
		"OfPods": {
			reason:   "One that is named for the pods stays, too.",
			provider: former,
			config:   "spec: {deploymentTemplate: {spec: {template: {spec: {serviceAccountName: peer}}}}}",
			want:     []Finding{},
		},
		"OfAnother": {
			reason:   "That of another Provider is not looked at.",
			provider: "{spec: {package: xpkg.crossplane.io/crossplane-contrib/provider-helm:v1.0.0}}",
			want:     []Finding{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, tally := &workloads{}, newTally()
			w.addPackage(ProviderKubernetes, read(t, provider, tc.provider))
			w.judgeAccount(tally, read(t, config, tc.config))
			if diff := cmp.Diff(tc.want, tallied(tally)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestJudgeDependents(t *testing.T) {
	const lock = `
apiVersion: pkg.crossplane.io/v1beta1
kind: Lock
metadata: {name: lock}
packages:
  - {name: peer-1, apiVersion: pkg.crossplane.io/v1, kind: Provider, version: v1.4.1, dependencies: [],
     source: example.org/crossplane-contrib/provider-kubernetes}
  - {name: platform-1, apiVersion: pkg.crossplane.io/v1, kind: Configuration, version: v1.0.0,
     source: example.org/platform, dependencies: [
       {package: example.org/crossplane-contrib/provider-helm, constraints: ">=v0"},
       {package: example.org/crossplane-contrib/provider-kubernetes, constraints: ">=v0"}]}
  - {name: other-1, apiVersion: pkg.crossplane.io/v1, kind: Configuration, version: v1.0.0, source: example.org/other,
     dependencies: [{package: example.org/provider-kubernetes-extras, constraints: ">=v0"}]}
`
	tally := newTally()
	if err := judgeDependents(tally, ProviderKubernetes, read(t, lock)); err != nil {
		t.Fatal(err)
	}
	want := []Finding{one("platform-1", refused("package that depends on provider-kubernetes",
		"Crossplane would install provider-kubernetes again",
		"take the dependency out: docs/how-to/migrate-from-provider-kubernetes.md, step 3"))}
	if diff := cmp.Diff(want, tallied(tally)); diff != "" {
		t.Errorf("packages that depend on the former provider: -want, +got:\n%s", diff)
	}
}
