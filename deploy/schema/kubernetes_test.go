package schema_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// manifests are the objects of all files but the kustomization, decoded as the
// server does under strict field validation: unknown and double fields are faults.
func manifests(t *testing.T) map[string]runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decode := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	files, err := filepath.Glob("../kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]runtime.Object{}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
		buffer := make([]byte, 1<<20)
		for {
			n, err := documents.Read(buffer)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			object, kind, err := decode.Decode(bytes.Clone(buffer[:n]), nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			id := kind.Kind + " " + object.(metav1.Object).GetName()
			if all[id] != nil {
				t.Errorf("%s stands twice", id)
			}
			all[id] = object
		}
	}
	return all
}

func TestManifestsAreWhatKubernetesTakes(t *testing.T) {
	t.Parallel()
	want := []string{
		"ConfigMap junction", "Deployment junction-worker", "Deployment review-js-v2", "Deployment review-python-v1", "Deployment review-python-v2",
		"Namespace junction", "NetworkPolicy junction-server", "NetworkPolicy junction-worker", "PodDisruptionBudget junction-worker",
		"Secret junction", "Service junction-worker",
	}
	if got := slices.Sorted(maps.Keys(manifests(t))); !slices.Equal(got, want) {
		t.Errorf("objects %v\nwant %v", got, want)
	}
}

// deployments calls f for each one.
func deployments(t *testing.T, f func(name string, d *appsv1.Deployment, c corev1.Container)) {
	t.Helper()
	all := manifests(t)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if d, ok := all[id].(*appsv1.Deployment); ok {
			f(d.Name, d, d.Spec.Template.Spec.Containers[0])
		}
	}
}

func TestPodsMayDoLittle(t *testing.T) {
	t.Parallel()
	deployments(t, func(name string, d *appsv1.Deployment, c corev1.Container) {
		pod, own := d.Spec.Template.Spec.SecurityContext, c.SecurityContext
		if pod == nil || own == nil || pod.RunAsNonRoot == nil || !*pod.RunAsNonRoot || pod.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault ||
			*own.AllowPrivilegeEscalation || !*own.ReadOnlyRootFilesystem || !slices.Equal(own.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("%s: %+v, %+v", name, pod, own)
		}
		if m := d.Spec.Template.Spec.AutomountServiceAccountToken; m == nil || *m {
			t.Errorf("%s has a token of the cluster that it never needs", name)
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Memory().Cmp(*c.Resources.Limits.Memory()) > 0 {
			t.Errorf("%s: resources %+v", name, c.Resources)
		}
	})
}

func TestProbesAndScrapesReachThePort(t *testing.T) {
	t.Parallel()
	deployments(t, func(name string, d *appsv1.Deployment, c corev1.Container) {
		ports := map[string]string{}
		for _, p := range c.Ports {
			ports[p.Name] = fmt.Sprint(p.ContainerPort)
		}
		for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
			at := intstr.IntOrString{}
			switch {
			case p == nil:
				t.Errorf("%s lacks a probe", name)
			case p.HTTPGet != nil:
				at = p.HTTPGet.Port
			case p.TCPSocket != nil:
				at = p.TCPSocket.Port
			}
			if ports[at.StrVal] == "" {
				t.Errorf("%s is probed at port %v, has %v", name, at, ports)
			}
		}
		annotations := d.Spec.Template.Annotations
		if annotations["prometheus.io/scrape"] != "true" || !slices.Contains(slices.Collect(maps.Values(ports)), annotations["prometheus.io/port"]) {
			t.Errorf("%s: annotations %v, ports %v", name, annotations, ports)
		}
		if !strings.Contains(strings.Join(c.Args, " "), ":"+annotations["prometheus.io/port"]) {
			t.Errorf("%s: args %v listen at no port %s", name, c.Args, annotations["prometheus.io/port"])
		}
		if c.StartupProbe == nil && strings.Contains(name, "worker") || name == "junction-worker" && (c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz") {
			t.Errorf("%s: probes %+v", name, c)
		}
	})
}

func TestPodsEndBeforeTheyAreKilled(t *testing.T) {
	t.Parallel()
	deployments(t, func(name string, d *appsv1.Deployment, c corev1.Container) {
		for _, a := range c.Args {
			if text, ok := strings.CutPrefix(a, "--grace="); ok {
				grace, err := time.ParseDuration(text)
				if seconds := d.Spec.Template.Spec.TerminationGracePeriodSeconds; err != nil || seconds == nil || time.Duration(*seconds)*time.Second <= grace {
					t.Errorf("%s: grace %s, %v, killed after %v s", name, text, err, seconds)
				}
				return
			}
		}
		t.Errorf("%s has no --grace", name)
	})
}

func TestReferencesFindWhatTheyName(t *testing.T) {
	t.Parallel()
	all := manifests(t)
	config, secret := all["ConfigMap junction"].(*corev1.ConfigMap), all["Secret junction"].(*corev1.Secret)
	deployments(t, func(name string, d *appsv1.Deployment, c corev1.Container) {
		for _, e := range c.Env {
			from := e.ValueFrom
			if from == nil {
				continue
			}
			if r := from.ConfigMapKeyRef; r != nil && (r.Name != config.Name || config.Data[r.Key] == "") {
				t.Errorf("%s: %s is not in the ConfigMap", name, r.Key)
			}
			if r := from.SecretKeyRef; r != nil {
				if _, there := secret.StringData[r.Key]; r.Name != secret.Name || !there {
					t.Errorf("%s: %s is not in the Secret", name, r.Key)
				}
			}
		}
		mounted := map[string]bool{}
		for _, v := range d.Spec.Template.Spec.Volumes {
			mounted[v.Name] = true
		}
		for _, m := range c.VolumeMounts {
			if !mounted[m.Name] {
				t.Errorf("%s mounts %s, which is no volume", name, m.Name)
			}
		}
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(d.Spec.Template.Labels)) {
			t.Errorf("%s does not select its own pods: %v", name, err)
		}
	})
	worker := labels.Set(all["Deployment junction-worker"].(*appsv1.Deployment).Spec.Template.Labels)
	budget, err := metav1.LabelSelectorAsSelector(all["PodDisruptionBudget junction-worker"].(*policyv1.PodDisruptionBudget).Spec.Selector)
	if err != nil || !budget.Matches(worker) {
		t.Errorf("the budget is of other pods: %v", err)
	}
	if service := all["Service junction-worker"].(*corev1.Service); !labels.SelectorFromSet(service.Spec.Selector).Matches(worker) {
		t.Error("the service is of other pods")
	}
	file, err := os.ReadFile("../junction.yaml")
	if err != nil || config.Data["junction.yaml"] != string(file) {
		t.Errorf("the ConfigMap's servers file is another than deploy/junction.yaml: %v", err)
	}
}
