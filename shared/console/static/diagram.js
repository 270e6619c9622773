// Draws one diagram in a frame without rights. The page sends its text and theme; the frame answers
// the height and the drawing, or an error.
const answer = (message) => parent.postMessage({ diagram: message }, '*');

async function draw({ text, dark }) {
	try {
		const { default: mermaid } = await import('./mermaid/mermaid.esm.min.mjs');
		mermaid.initialize({
			startOnLoad: false, securityLevel: 'strict', layout: 'dagre', look: 'classic',
			htmlLabels: false, flowchart: { htmlLabels: false }, class: { htmlLabels: false },
			theme: dark ? 'dark' : 'default', maxTextSize: 200000, maxEdges: 2000,
			secure: ['secure', 'securityLevel', 'startOnLoad', 'maxTextSize', 'maxEdges', 'layout', 'look', 'htmlLabels', 'dompurifyConfig', 'themeCSS', 'fontFamily', 'altFontFamily'],
		});
		const { svg } = await mermaid.render('drawing', text);
		const main = document.getElementById('main');
		main.innerHTML = svg;
		document.body.style.margin = '0';
		const height = Math.ceil(main.firstElementChild.getBoundingClientRect().height) + 8;
		answer({ height: Math.min(4000, Math.max(40, height)), svg: svg.length < 4e6 ? svg : '' });
	} catch (e) {
		document.getElementById('main').textContent = '';
		answer({ error: String((e && e.message) || e).slice(0, 2000) });
	}
}

addEventListener('message', (e) => {
	if (e.source === parent && e.data && typeof e.data.text === 'string') draw(e.data);
});
answer({ ready: true });
