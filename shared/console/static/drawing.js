// Serves the frames of diagrams, and lets people move and enlarge drawings of graphs. Pages work
// without it: the texts of diagrams are in the page, and drawings are links.
(() => {
	if (document.body.dataset.drawing) return; // a page may have several parts that link this script
	document.body.dataset.drawing = 'ready';
	const dark = matchMedia('(prefers-color-scheme: dark)');
	const frames = () => document.querySelectorAll('.diagram iframe');
	const partOf = (frame, selector) => frame.parentElement.querySelector(selector);
	const send = (frame) => frame.contentWindow.postMessage({ text: partOf(frame, 'pre').textContent, dark: dark.matches }, '*');

	function received(frame, { ready, height, error, svg }) {
		const note = partOf(frame, '[data-error]'), button = partOf(frame, '[data-download]');
		if (ready === true) { send(frame); return; }
		if (typeof height === 'number' && height >= 40 && height <= 4000) {
			frame.setAttribute('height', Math.ceil(height));
			note.hidden = true;
			button.hidden = typeof svg !== 'string' || svg === '';
			button.onclick = () => save(svg);
		}
		if (typeof error === 'string') {
			note.textContent = 'This diagram cannot be drawn: ' + error.slice(0, 2000);
			note.hidden = false;
			partOf(frame, 'details').open = true;
		}
	}

	function save(svg) {
		const link = document.createElement('a');
		link.href = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
		link.download = 'diagram.svg';
		link.click();
		setTimeout(() => URL.revokeObjectURL(link.href), 1000);
	}

	addEventListener('message', (e) => {
		for (const frame of frames()) {
			if (e.source === frame.contentWindow && e.data && e.data.diagram) received(frame, e.data.diagram);
		}
	});
	dark.addEventListener('change', () => frames().forEach(send));
	frames().forEach(send); // frames that were ready before this script

	// Drawings: the wheel with Ctrl enlarges, dragging moves, and the lines of a box stand out.
	for (const svg of document.querySelectorAll('svg.drawing')) {
		const room = svg.parentElement, width = +svg.getAttribute('width'), height = +svg.getAttribute('height');
		let scale = 1, from = null;
		const zoom = (to) => {
			scale = Math.min(3, Math.max(0.2, to));
			svg.setAttribute('width', Math.round(width * scale));
			svg.setAttribute('height', Math.round(height * scale));
		};
		room.addEventListener('wheel', (e) => {
			if (!e.ctrlKey) return;
			e.preventDefault();
			zoom(scale * (e.deltaY < 0 ? 1.15 : 1 / 1.15));
		}, { passive: false });
		room.addEventListener('keydown', (e) => {
			if (e.key === '+' || e.key === '-') zoom(scale * (e.key === '+' ? 1.15 : 1 / 1.15));
		});
		room.addEventListener('pointerdown', (e) => {
			if (e.button === 0 && !e.target.closest('a')) from = [e.clientX + room.scrollLeft, e.clientY + room.scrollTop];
		});
		room.addEventListener('pointermove', (e) => {
			if (from) room.scrollTo(from[0] - e.clientX, from[1] - e.clientY);
		});
		addEventListener('pointerup', () => { from = null; });
	}
})();
